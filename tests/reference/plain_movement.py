"""How far the global model moves while a job is under way, as the sum it is defined by."""

from dmafl.theory.jobs import TaskJobs


def plain_movement(jobs: TaskJobs, norm: float) -> list[float]:
    """d_k as a sum over m = v_k .. k-1."""
    d: list[float] = []
    for k in range(len(jobs)):
        between = range(int(jobs.version[k]), k)
        d.append(sum(jobs.mix[m] * (jobs.steps[m] * jobs.rate[m] * norm + d[m]) for m in between))
    return d
