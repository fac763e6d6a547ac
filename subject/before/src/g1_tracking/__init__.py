"""G1 motion tracking: a compact manager-based environment, stepped in batch on MuJoCo or MuJoCo Warp.

In: a composed configuration. Out: an environment with `init_state`, `step`, `close`.
"""
