#include "weights/training/cpu_trainee.h"

#include <algorithm>
#include <map>

namespace neuroshard::training {

void NetworkInTraining::begin_gradients(std::size_t count) {
  while (gradients.size() < count) gradients.emplace_back(mlp.parameters().size());
  parts = count;
}

double CpuTrainee::step(std::span<const std::uint32_t> batch, double learning_rate) {
  for (NetworkInTraining& network : networks_) {
    if (network.gains) network.gains->show_latest(network.mlp);
  }
  const double loss = differentiate(batch);
  for (NetworkInTraining& network : networks_) {
    if (network.gains) {
      network.gains->step(network.latest_gradients(), learning_rate, network.mlp);
    } else {
      network.adam.step(network.latest_gradients(), learning_rate, network.mlp.parameters());
      network.mlp.parameters_changed();
    }
  }
  return loss;
}

double CpuTrainee::mean_loss(std::span<const std::uint32_t> samples) {
  const std::vector<float> predicted_ms = predict(samples);
  double sum = 0.0;
  std::size_t at = 0;
  for (const std::uint32_t sample : samples) {
    const std::span<const float> measured_ms = costs_ms(sample);
    double losses = 0.0;
    for (const float cost_ms : measured_ms) {
      const double error = static_cast<double>(predicted_ms[at++]) - cost_ms;
      losses += cost_loss_(cost_ms, error);
    }
    sum += losses / static_cast<double>(measured_ms.size());
  }
  return sum / static_cast<double>(samples.size());
}

void CpuTrainee::remember_weights() {
  for (NetworkInTraining& network : networks_) network.best = network.mlp.parameters();
}

void CpuTrainee::recall_weights() {
  for (NetworkInTraining& network : networks_) {
    network.mlp.parameters() = network.best;
    network.mlp.parameters_changed();
  }
}

void CpuTrainee::visit_state(const std::string& name, StateVisitor& visitor) {
  for (NetworkInTraining& network : networks_) {
    const std::string of_network = name + "." + network.name;
    network.mlp.visit_state(of_network, visitor);
    network.adam.visit_state(of_network + ".adam", visitor);
    visitor.floats(of_network + ".best", network.best);
  }
}

std::vector<TestResult> CpuTrainee::tests(std::span<const std::uint32_t> samples,
                                          std::span<const float> predicted_ms) const {
  std::map<int, TestResult> by_devices;
  for (const std::uint32_t sample : samples) {
    const std::span<const float> measured_ms = costs_ms(sample);
    const auto predicted = predicted_ms.first(measured_ms.size());
    predicted_ms = predicted_ms.subspan(measured_ms.size());
    TestResult& test = by_devices[devices(sample)];
    test.measured_ms.insert(test.measured_ms.end(), measured_ms.begin(), measured_ms.end());
    test.predicted_ms.insert(test.predicted_ms.end(), predicted.begin(), predicted.end());
  }
  std::vector<TestResult> tests;
  tests.reserve(by_devices.size());
  for (auto& [devices, test] : by_devices) {
    tests.push_back(
        test_result(devices, std::move(test.measured_ms), std::move(test.predicted_ms)));
  }
  return tests;
}

}  // namespace neuroshard::training
