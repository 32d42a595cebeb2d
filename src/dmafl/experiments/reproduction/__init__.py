"""The paper's study: which runs it needs, carrying them out, and what they say of the paper's claims."""
