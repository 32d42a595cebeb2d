"""The numerical engine: local SGD, aggregation and evaluation of models kept as flat float32 vectors.

torch is imported only by `models`, `parameters`, `tensors`, `fitting`, `local_sgd`, `evaluation` and `threads`;
the rest is NumPy. Same keys give bit-identical results on one machine, whatever the process or the order of
calls, as long as each process computes with one thread (see `threads`).
"""
