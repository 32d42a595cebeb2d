"""Loss models: the expected loss of a task as a function of its schedule.

One file per model: `calibrated`, `sharp`, `theorem1` (`printed` for users). `base` is what all of them offer,
`registry` the list of them. The other files are what models share: values that they return, and formulas of labels,
balance and drift.
"""
