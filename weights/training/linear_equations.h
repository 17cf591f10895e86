#pragma once

#include <vector>

namespace neuroshard::training {

/// Solves `matrix` x = `right`: x takes the place of `right`, its Cholesky factor that of the
/// matrix, which is positive definite and of which the lower triangle is read, [rows][columns].
void solve_positive_definite(std::vector<std::vector<double>>& matrix, std::vector<double>& right);

}  // namespace neuroshard::training
