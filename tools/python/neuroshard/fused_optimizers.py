"""Names that a task has for the optimizers of FBGEMM's operators."""

from fbgemm_gpu.split_embedding_configs import EmbOptimType

FUSED_OPTIMIZERS = {
    "sgd": EmbOptimType.EXACT_SGD,
    "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
    "adagrad": EmbOptimType.EXACT_ADAGRAD,
    "adam": EmbOptimType.ADAM,
    "partial_rowwise_adam": EmbOptimType.PARTIAL_ROWWISE_ADAM,
    "lamb": EmbOptimType.LAMB,
    "partial_rowwise_lamb": EmbOptimType.PARTIAL_ROWWISE_LAMB,
    "lars_sgd": EmbOptimType.LARS_SGD,
}
ON_CPUS = ("sgd", "rowwise_adagrad", "adagrad")
"""FBGEMM has these for them."""
