"""The planner: who trains what when with how much work, so that quality and energy are traded best."""
