# The CUDA backend, the fused operator that cost data is collected with, and training. Products of
# matrices are cublas.cpp's.
set(NEUROSHARD_CUDA_SOURCES
  anneal_chains.cu
  beam_launches.cpp
  buffers.cpp
  chain_launches.cpp
  check.cpp
  comm_costs.cu
  cuda_backend.cpp
  cuda_devices.cpp
  cuda_operator.cpp
  cuda_session.cpp
  cuda_source.cpp
  cuda_trainee.cpp
  cuda_training.cpp
  current_device.cpp
  device_context.cpp
  device_mlp.cpp
  device_models.cpp
  device_streams.cpp
  embed_pieces.cu
  fill_random.cu
  launches.cpp
  lookup_keys.cu
  place_candidates.cu
  placement_launches.cpp
  pool_bags.cu
  score_shards.cu
  score_shards_gemm.cu
  score_shards_tensor.cu
  search_beams.cu
  training_kernels.cu
  update_rows.cu)
# CUB's kernels; only nvcc reads them.
set(NEUROSHARD_CUB_SOURCES sort_lookups.cu)
