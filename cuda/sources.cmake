# The CUDA backend.
set(NEUROSHARD_CUDA_SOURCES
  buffers.cpp
  check.cpp
  comm_costs.cu
  cuda_backend.cpp
  cuda_devices.cpp
  cuda_session.cpp
  device_context.cpp
  device_models.cpp
  embed_pieces.cu
  evaluate_candidates.cu
  evaluation.cpp
  score_shards.cu
  score_shards_tensor.cu
  score_shards_tiled.cu)
