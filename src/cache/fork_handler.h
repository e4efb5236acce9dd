// Stores across fork(). SQLite's locks belong to a process: a child that inherits an open
// connection, or even only SQLite's table of open files, can corrupt the file. So every store
// closes its files just before a fork, and both processes open them again when they next need them.
//
// fork() by way of the C library is seen (pthread_atfork); vfork, posix_spawn and system() need
// nothing.
#pragma once

namespace ffpa_jit {

class ForkAware {
 public:
  virtual void before_fork() = 0;  // lock, and close what must not be inherited
  virtual void after_fork_in_parent() = 0;
  virtual void after_fork_in_child() = 0;

 protected:
  ~ForkAware() = default;
};

// Between these two calls the object is told of every fork.
void watch_forks(ForkAware* object);
void unwatch_forks(ForkAware* object);

}  // namespace ffpa_jit
