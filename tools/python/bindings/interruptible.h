#pragma once

#include <functional>
#include <stop_token>

namespace neuroshard::python {

/// Runs `work` without Python's lock, which must be held here. Exceptions of `work` are thrown
/// here.
void run_unlocked(const std::function<void(std::stop_token)>& work);

/// Runs work that takes long. Called on Python's main thread, which alone handles signals, it works
/// on another one meanwhile, so that Ctrl-C, or whatever a signal handler raises, stops `work`
/// through the token and is raised here once that has ended. Handing over takes some ten
/// microseconds, and as long as other programs let these threads wait.
void run_interruptibly(const std::function<void(std::stop_token)>& work);

}  // namespace neuroshard::python
