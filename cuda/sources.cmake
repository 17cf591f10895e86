# The CUDA backend, the fused operator that cost data is collected with, and training. Products of
# matrices are cublas.cpp's.
set(NEUROSHARD_CUDA_SOURCES
  backend/beam_launches.cpp
  backend/cuda_backend.cpp
  backend/cuda_session.cpp
  backend/device_context.cpp
  backend/launches.cpp
  backend/placement_launches.cpp
  device/buffers.cpp
  device/check.cpp
  device/cuda_devices.cpp
  device/current_device.cpp
  device/device_streams.cpp
  networks/comm_costs.cu
  networks/device_models.cpp
  networks/embed_pieces.cu
  networks/score_shards.cu
  networks/score_shards_gemm.cu
  operators/cuda_operator.cpp
  operators/cuda_source.cpp
  operators/fill_random.cu
  operators/lookup_keys.cu
  operators/pool_bags.cu
  operators/step_weights.cu
  operators/update_rows.cu
  placement/place_candidates.cu
  placement/search_beams.cu
  training/cuda_trainee.cpp
  training/cuda_training.cpp
  training/device_mlp.cpp
  training/training_kernels.cu)
# CUB's kernels; only nvcc reads them.
set(NEUROSHARD_CUB_SOURCES operators/sort_lookups.cu)
