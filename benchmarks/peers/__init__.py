"""The workload of `measures.workload` in other libraries; each script runs in that library's environment."""
