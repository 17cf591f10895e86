#include "tools/python/bindings/interruptible.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <future>
#include <system_error>
#include <thread>

namespace neuroshard::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds kBetweenSignals{20};

// Only there does Python handle signals.
bool on_main_thread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("main_thread")().attr("ident").equal(threading.attr("get_ident")());
}

}  // namespace

void run_unlocked(const std::function<void(std::stop_token)>& work) {
  const nb::gil_scoped_release unlocked;
  work({});
}

void run_interruptibly(const std::function<void(std::stop_token)>& work) {
  if (!on_main_thread()) return run_unlocked(work);
  std::stop_source stop;
  std::packaged_task<void()> task([&] { work(stop.get_token()); });
  std::future<void> done = task.get_future();
  std::thread thread;
  try {
    thread = std::thread(std::ref(task));
  } catch (const std::system_error&) {  // No thread to be had: then without Ctrl-C.
    return run_unlocked(work);
  }
  bool interrupted = false;
  {
    const nb::gil_scoped_release unlocked;
    while (!interrupted && done.wait_for(kBetweenSignals) == std::future_status::timeout) {
      const nb::gil_scoped_acquire locked;
      interrupted = PyErr_CheckSignals() != 0;
    }
    // A raised exception is pending on this thread, which runs no Python until it is thrown below.
    if (interrupted) stop.request_stop();
    thread.join();
  }
  if (interrupted) throw nb::python_error();
  done.get();
}

}  // namespace neuroshard::python
