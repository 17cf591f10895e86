#pragma once

namespace neuroshard {

// Layers of the published compute model: the default in training, and the sizes for which there are
// kernels of their own.
inline constexpr int kPublishedTableHidden = 128;
inline constexpr int kPublishedEmbedding = 32;
inline constexpr int kPublishedHeadHidden = 64;

}  // namespace neuroshard
