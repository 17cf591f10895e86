#include "bench/scoring/scorer.h"
#include "bench/training/training_runs.h"

namespace neuroshard::bench {

std::vector<ScorerKind> openblas_scorers(const CostModels&) { return {}; }

std::string openblas_description() {
  return "none (nsbench was built without it: libopenblas-dev)";
}

const training::MatrixKernels* openblas_matrix_kernels() { return nullptr; }

}  // namespace neuroshard::bench
