#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace neuroshard::gpu {

/// Things that are costly to make and that calls borrow: the next caller gets the one that was
/// given back last. Safe to share between threads. A thing with a function settle() is settled when
/// it comes back.
template <typename T>
class ObjectPool {
 public:
  /// Gives the thing back when it goes.
  class Lease {
   public:
    Lease(ObjectPool& pool, std::unique_ptr<T> thing) : pool_(&pool), thing_(std::move(thing)) {}
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (thing_) pool_->give_back(std::move(thing_));
    }

    T* operator->() const { return thing_.get(); }
    T& operator*() const { return *thing_; }

   private:
    ObjectPool* pool_;
    std::unique_ptr<T> thing_;
  };

  Lease borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> thing = std::move(free_.back());
        free_.pop_back();
        return Lease(*this, std::move(thing));
      }
      // Room for it to come back: giving back must not fail.
      free_.reserve(++made_);
    }
    return Lease(*this, std::make_unique<T>());
  }

 private:
  void give_back(std::unique_ptr<T> thing) {
    if constexpr (requires { thing->settle(); }) thing->settle();
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(thing));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
  std::size_t made_ = 0;
};

}  // namespace neuroshard::gpu
