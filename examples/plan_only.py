"""Plan without training: what does a better model cost? Three weights of the loss, three plans."""

import dmafl

measured = dmafl.measure(dmafl.preset("demo"))  # comes with the package; any other scenario is measured first
scenario = dmafl.preset("demo", tasks={"mnist": {"slots": 10}})

for weight in (0.0001, 0.01, 1.0):  # joules that one unit of loss may cost
    weighted = scenario.with_({"objective.quality_weight_calibrated": weight})
    plan = dmafl.plan(weighted, measured=measured, effort=0.5)
    terms = plan.terms["mnist"]
    energy = sum(terms[f"{phase}_J"] for phase in ("uplink", "compute", "downlink"))
    print(f"weight {weight:g} J: predicted loss {terms['quality']:.2f}, {energy:.3f} J", end="; ")
    print(f"{plan.schedule.steps.sum():.0f} steps, executable: {plan.executable}")
