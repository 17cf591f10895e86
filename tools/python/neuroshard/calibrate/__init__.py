"""From devices to weights: `torchrun --nproc-per-node 8 -m neuroshard.calibrate --out weights.safetensors`.

Times what users run (FBGEMM's embedding operator, torch.distributed's all-to-all and all-reduce) on all ranks, and makes
cost models of it (docs/training.md).
"""
