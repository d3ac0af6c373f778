// See threads.h.
#include "threads.h"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <vector>
#include <algorithm>

#include "../include/host/runtime.h"
#include "alignment.h"

namespace {
constexpr unsigned LANES = 32;
constexpr size_t STACK = 512 << 10;
// How long a grid may run, in seconds of this process. What runs longer depends on inputs that we made up.
constexpr int PATIENCE = 4;

enum class State { ready, at_group, at_simdgroup, exchanging, done };

struct Fiber {
  ucontext_t context;
  State state;
  unsigned kind;
  unsigned phase;
  Place place;
};

struct Simdgroup {
  // Two sets, since a lane that goes on may give its next value before another has read the last.
  alignas(64) unsigned char values[2][LANES * host_stride];
  unsigned mask[2];
};

ucontext_t scheduler;
std::vector<Fiber> fibers;
std::vector<Simdgroup> simdgroups;
unsigned char *stacks;
size_t stacks_size;
Fiber *running;
Entry entry_point;
void **entry_slots;
void (*before_thread)(const Grid &, const Place &);
const Grid *current_grid;
sigjmp_buf escape;
const char *fault_reason;

// Positions are set again whenever a thread goes on, as all threads share the slots.
void resume(Fiber &fiber) {
  running = &fiber;
  swapcontext(&scheduler, &fiber.context);
}

void wait(State state) {
  running->state = state;
  swapcontext(&running->context, &scheduler);
}

void start() {
  before_thread(*current_grid, running->place);
  entry_point(entry_slots);
  running->state = State::done;
  swapcontext(&running->context, &scheduler);
}

[[noreturn]] void fail(const char *reason) {
  fault_reason = reason;
  siglongjmp(escape, 1);
}

void on_signal(int signal, siginfo_t *info, void *context) {
  // Addresses that are not aligned have no page.
  if (signal == SIGSEGV && info->si_code == SI_KERNEL) {
    auto code = static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP];
    if (allow_any_address(reinterpret_cast<unsigned char *>(code))) return;
  }
  fail(signal == SIGALRM || signal == SIGVTALRM ? "does not end"
       : signal == SIGFPE                       ? "divides by zero"
       : signal == SIGILL || signal == SIGTRAP  ? "reaches a trap"
                                                : "accesses memory outside of buffers");
}

void watch_signals() {
  static bool is_watching = false;
  if (is_watching) return;
  is_watching = true;
  static unsigned char room[64 << 10];
  stack_t stack = {};
  stack.ss_sp = room;
  stack.ss_size = sizeof room;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGVTALRM}) sigaction(signal, &action, nullptr);
}

void limit(int seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

// Stacks are zero at the start of a grid, so that what a thread reads before it writes is the same on both sides.
void prepare_stacks(unsigned count) {
  const size_t size = count * STACK;
  if (size > stacks_size) {
    if (stacks) munmap(stacks, stacks_size);
    stacks = static_cast<unsigned char *>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    stacks_size = size;
  } else {
    madvise(stacks, stacks_size, MADV_DONTNEED);
  }
}

void prepare_group(const Grid &grid, Extent group) {
  const unsigned count = grid.threads.count();
  fibers.resize(count);
  simdgroups.resize((count + LANES - 1) / LANES);
  unsigned index = 0;
  for (unsigned z = 0; z < grid.threads.z; z++)
    for (unsigned y = 0; y < grid.threads.y; y++)
      for (unsigned x = 0; x < grid.threads.x; x++, index++) {
        Fiber &fiber = fibers[index];
        fiber.state = State::ready;
        fiber.phase = 0;
        fiber.place = {group, {x, y, z}, index};
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = stacks + index * STACK;
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, start, 0);
      }
}

// Lets the lanes of a simdgroup that wait for each other go on. Returns whether there are any.
bool release_simdgroup(size_t number) {
  const size_t first = number * LANES, last = std::min(first + LANES, fibers.size());
  unsigned exchanging = 0, waiting = 0, kind = 0, phase = 0;
  for (size_t i = first; i < last; i++) {
    Fiber &fiber = fibers[i];
    if (fiber.state == State::at_simdgroup) waiting++;
    if (fiber.state != State::exchanging) continue;
    if (exchanging && (fiber.kind != kind || fiber.phase != phase)) fail("lanes ask for different things");
    kind = fiber.kind, phase = fiber.phase;
    exchanging |= 1u << (i - first);
  }
  if (exchanging && waiting) fail("lanes ask for different things");
  simdgroups[number].mask[phase & 1] = exchanging;
  for (size_t i = first; i < last; i++)
    if (fibers[i].state == State::exchanging || fibers[i].state == State::at_simdgroup)
      fibers[i].state = State::ready;
  return exchanging || waiting;
}

void release_group() {
  for (Fiber &fiber : fibers)
    if (fiber.state == State::at_group) fiber.state = State::ready;
}

void run_group() {
  for (;;) {
    bool is_done = true, is_released = false;
    for (Fiber &fiber : fibers) {
      if (fiber.state == State::ready) resume(fiber);
      is_done &= fiber.state == State::done;
    }
    if (is_done) return;
    for (size_t number = 0; number < simdgroups.size(); number++) is_released |= release_simdgroup(number);
    if (!is_released) release_group();
  }
}
}  // namespace

std::string run_grid(const Grid &grid, Entry entry, void **slots, void (*before)(const Grid &, const Place &)) {
  watch_signals();
  prepare_stacks(grid.threads.count());
  entry_point = entry;
  entry_slots = slots;
  before_thread = before;
  current_grid = &grid;
  fault_reason = nullptr;
  if (sigsetjmp(escape, 1) == 0) {
    limit(PATIENCE);
    for (unsigned z = 0; z < grid.groups.z; z++)
      for (unsigned y = 0; y < grid.groups.y; y++)
        for (unsigned x = 0; x < grid.groups.x; x++) {
          prepare_group(grid, {x, y, z});
          run_group();
        }
  }
  limit(0);
  return fault_reason ? fault_reason : "";
}

extern "C" {
void host_barrier(int scope) { wait(scope == 4 ? State::at_simdgroup : State::at_group); }

unsigned host_exchange(const void *value, unsigned size, unsigned kind, const unsigned char **values) {
  Simdgroup &simdgroup = simdgroups[running->place.index / LANES];
  const unsigned phase = running->phase & 1;
  std::memcpy(simdgroup.values[phase] + running->place.index % LANES * host_stride, value, size);
  running->kind = kind << 8 | size;
  wait(State::exchanging);
  running->phase++;
  *values = simdgroup.values[phase];
  return simdgroup.mask[phase];
}

unsigned host_lane() { return running->place.index % LANES; }

unsigned host_lanes() { return LANES; }

void host_fault(const char *reason) { fail(reason); }
}
