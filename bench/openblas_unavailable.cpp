#include "bench/scorer.h"
#include "bench/training_runs.h"

namespace neuroshard::bench {

std::vector<ScorerKind> openblas_scorers(const CostModels&) { return {}; }

const training::MatrixKernels* openblas_matrix_kernels() { return nullptr; }

}  // namespace neuroshard::bench
