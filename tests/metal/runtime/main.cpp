// Runs kernels twice, once from each of two shared libraries, and compares what they leave in memory.
//
//   run JOBS FIRST         does the jobs of a list, from number FIRST on, one line of output per job
//   run --dump JOB FOLDER  does one job, and writes the buffers before and after each run to files
//   run --left JOB FOLDER  does the left side of one job, and also writes what it left around the buffers, and its faults
//
// A line of the list has a job and a name, separated by a tab. A job is a text file:
//
//   left PATH, right PATH              the libraries (../include/host/runtime.h)
//   threads X Y Z, groups X Y Z        the size of threadgroups and of the grid in them; several pairs are several runs
//   slot buffer SIZE STRIDE KIND TYPE:OFFSET:COUNT,…   KIND is `data` or `parameter`; TYPE is f32, bf16, u8, s64 and so on,
//                                      i1 for a truth, p64 for a pointer to more data
//   slot threadgroup SIZE              memory of the threadgroup
//   slot id NAME                       a position, by its name in Metal
//
// | answer | meaning |
// |---|---|
// | same N | all bytes are the same, N numbers were written |
// | near U N | floats differ by U units of the last place at most |
// | different TEXT | anything else |
// | unwritten | nothing was written in any run |
// | fault TEXT | both sides fault, for the same reason, in all runs |
// | left TEXT, right TEXT | only this side faults |
// | missing TEXT | a library can't be loaded |
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <sstream>

#include "memory.h"
#include "threads.h"

namespace {
struct Slot {
  enum { buffer, threadgroup, id } kind;
  Buffer memory;
  std::string name;
  std::vector<unsigned char> shared;
  unsigned words[4];
};

struct Job {
  std::string left, right;
  std::vector<Grid> grids;
  std::vector<Slot> slots;
  // What pointers in buffers point to, which is the last slot, if there are any.
  unsigned char *pool = nullptr;
};

Job *job;

Extent read_extent(std::istream &from) {
  Extent extent;
  from >> extent.x >> extent.y >> extent.z;
  return extent;
}

Buffer read_buffer(std::istream &from) {
  Buffer buffer;
  std::string kind, fields, field;
  from >> buffer.size >> buffer.stride >> kind >> fields;
  buffer.is_parameter = kind == "parameter";
  std::istringstream list(fields);
  while (std::getline(list, field, ',')) {
    const size_t first = field.find(':'), second = field.find(':', first + 1);
    buffer.fields.push_back({field.substr(0, first), std::stoul(field.substr(first + 1)), std::stoul(field.substr(second + 1))});
  }
  return buffer;
}

Slot read_slot(std::istream &from) {
  Slot slot{};
  std::string kind;
  from >> kind;
  if (kind == "buffer") {
    slot.kind = Slot::buffer;
    slot.memory = read_buffer(from);
    reserve(slot.memory);
  } else if (kind == "threadgroup") {
    size_t size;
    from >> size;
    slot.kind = Slot::threadgroup;
    slot.shared.resize(size);
  } else {
    slot.kind = Slot::id;
    from >> slot.name;
  }
  return slot;
}

Job read_job(const std::string &path) {
  Job job;
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (word == "left") file >> job.left;
    else if (word == "right") file >> job.right;
    else if (word == "threads") job.grids.push_back({read_extent(file), {}});
    else if (word == "groups") job.grids.back().groups = read_extent(file);
    else if (word == "slot") job.slots.push_back(read_slot(file));
  }
  bool has_pointers = false;
  for (const Slot &slot : job.slots)
    for (const Field &field : slot.memory.fields) has_pointers |= field.type == "p64";
  if (has_pointers) {
    Slot pool{};
    pool.kind = Slot::buffer;
    pool.memory = {POINTERS * ROOM, 4, {{"f32", 0, 1}}, false};
    reserve(pool.memory);
    job.pool = pool.memory.memory;
    job.slots.push_back(pool);
  }
  return job;
}

void set(Slot &slot, unsigned x, unsigned y = 0, unsigned z = 0) { slot.words[0] = x, slot.words[1] = y, slot.words[2] = z; }
void set(Slot &slot, Extent e) { set(slot, e.x, e.y, e.z); }

// Sets the positions of a thread.
void set_positions(const Grid &grid, const Place &place) {
  const Extent &t = grid.threads, &g = grid.groups;
  for (Slot &slot : job->slots) {
    if (slot.kind != Slot::id) continue;
    const std::string &name = slot.name;
    if (name == "thread_position_in_grid")
      set(slot, place.group.x * t.x + place.in_group.x, place.group.y * t.y + place.in_group.y,
          place.group.z * t.z + place.in_group.z);
    else if (name == "threadgroup_position_in_grid") set(slot, place.group);
    else if (name == "thread_position_in_threadgroup") set(slot, place.in_group);
    else if (name == "threads_per_grid") set(slot, t.x * g.x, t.y * g.y, t.z * g.z);
    else if (name == "threads_per_threadgroup" || name == "dispatch_threads_per_threadgroup") set(slot, t);
    else if (name == "threadgroups_per_grid") set(slot, g);
    else if (name == "thread_index_in_threadgroup") set(slot, place.index);
    else if (name == "thread_index_in_simdgroup") set(slot, place.index % 32);
    else if (name == "simdgroup_index_in_threadgroup") set(slot, place.index / 32);
    else if (name == "simdgroups_per_threadgroup" || name == "dispatch_simdgroups_per_threadgroup")
      set(slot, (t.count() + 31) / 32);
    else if (name == "threads_per_simdgroup" || name == "thread_execution_width") set(slot, 32);
    else if (name == "thread_index_in_quadgroup") set(slot, place.index % 4);
    else if (name == "quadgroup_index_in_threadgroup") set(slot, place.index / 4);
    else if (name == "quadgroups_per_threadgroup") set(slot, (t.count() + 3) / 4);
    else set(slot, 0);
  }
}

std::vector<void *> addresses() {
  std::vector<void *> slots;
  for (Slot &slot : job->slots)
    slots.push_back(slot.kind == Slot::buffer        ? static_cast<void *>(slot.memory.memory)
                    : slot.kind == Slot::threadgroup ? static_cast<void *>(slot.shared.data())
                                                     : static_cast<void *>(slot.words));
  return slots;
}

void prepare(unsigned run) {
  unsigned seed = 1 + run * 100;
  for (Slot &slot : job->slots) {
    seed++;
    if (slot.kind == Slot::buffer) fill(slot.memory, {seed, run % 2 == 1, run < 2 ? 6u : 100u, job->pool});
    if (slot.kind == Slot::threadgroup) std::fill(slot.shared.begin(), slot.shared.end(), 0);
  }
}

using Memories = std::vector<Pages>;

Memories snapshot() {
  Memories memories;
  for (Slot &slot : job->slots) memories.push_back(slot.kind == Slot::buffer ? pages_of(slot.memory) : Pages());
  return memories;
}

struct Library {
  void *handle = nullptr;
  Entry entry = nullptr;
  std::string error;

  explicit Library(const std::string &path) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) entry = reinterpret_cast<Entry>(dlsym(handle, "host_entry"));
    if (!entry) error = dlerror();
  }
  ~Library() {
    if (handle) dlclose(handle);
  }
};

void dump(const std::string &folder, unsigned run, const char *when, const Memories &memories) {
  if (folder.empty()) return;
  for (size_t i = 0; i < job->slots.size(); i++) {
    const Slot &slot = job->slots[i];
    if (slot.kind != Slot::buffer) continue;
    std::ofstream file(folder + "/" + std::to_string(run) + "." + std::to_string(i) + "." + when);
    std::vector<char> bytes(slot.memory.size);
    for (const auto &[number, page] : memories[i]) {
      const long place = long(number * page.size()) - (64 << 20);
      for (size_t k = 0; k < page.size(); k++)
        if (place + long(k) >= 0 && size_t(place + long(k)) < bytes.size()) bytes[size_t(place + long(k))] = char(page[k]);
    }
    file.write(bytes.data(), std::streamsize(bytes.size()));
  }
}

// Does one run on both sides. Adds to the difference, or returns an answer that ends the job.
std::string run_both(unsigned run, Library &left, Library &right, Difference &difference, std::string &fault,
                     const std::string &folder) {
  const Grid &grid = job->grids[run];
  std::vector<void *> slots = addresses();
  prepare(run);
  const Memories start = snapshot();
  dump(folder, run, "start", start);
  const std::string left_fault = run_grid(grid, left.entry, slots.data(), set_positions);
  const Memories one = snapshot();
  dump(folder, run, "left", one);
  prepare(run);
  const std::string right_fault = run_grid(grid, right.entry, slots.data(), set_positions);
  const Memories other = snapshot();
  dump(folder, run, "right", other);
  if (left_fault != right_fault) {
    if (right_fault.empty()) return "left " + left_fault;
    return left_fault.empty() ? "right " + right_fault : "different faults: " + left_fault + " and " + right_fault;
  }
  fault = left_fault;
  if (!fault.empty()) return "";
  for (size_t i = 0; i < job->slots.size(); i++) {
    const size_t before = difference.differing;
    if (job->slots[i].kind == Slot::buffer) compare(job->slots[i].memory, start[i], one[i], other[i], difference);
    if (before == 0 && difference.differing)
      difference.first = "run " + std::to_string(run) + ", argument " + std::to_string(i) + ", " + difference.first;
  }
  return "";
}

std::string answer(const std::string &folder) {
  Library left(job->left), right(job->right);
  for (const Library *library : {&left, &right})
    if (!library->error.empty()) return "missing " + library->error;
  Difference difference;
  std::string fault, last_fault;
  bool has_run = false;
  for (unsigned run = 0; run < job->grids.size(); run++) {
    const std::string end = run_both(run, left, right, difference, fault, folder);
    if (!end.empty()) return end;
    if (fault.empty()) has_run = true;
    else last_fault = fault;
  }
  if (!has_run) return "fault " + last_fault;
  if (difference.differing)
    return "different " + std::to_string(difference.differing) + " of " + std::to_string(difference.written) +
           " numbers: " + difference.first;
  if (difference.written == 0) return "unwritten";
  if (difference.largest) return "near " + std::to_string(difference.largest) + " " + std::to_string(difference.written);
  return "same " + std::to_string(difference.written);
}

// Writes the pages of buffers that have bytes outside of them: where each begins, counted from the buffer, and its bytes.
void dump_around(const std::string &folder, unsigned run, const Memories &memories) {
  for (size_t i = 0; i < job->slots.size(); i++) {
    const Slot &slot = job->slots[i];
    if (slot.kind != Slot::buffer) continue;
    std::ofstream file(folder + "/" + std::to_string(run) + "." + std::to_string(i) + ".around");
    for (const auto &[number, page] : memories[i]) {
      const int64_t place = int64_t(number * page.size()) - (64 << 20);
      if (place >= 0 && size_t(place) + page.size() <= slot.memory.size) continue;
      file.write(reinterpret_cast<const char *>(&place), sizeof place);
      file.write(reinterpret_cast<const char *>(page.data()), std::streamsize(page.size()));
    }
  }
}

// Does the runs of the left side.
std::string run_left(const std::string &path, const std::string &folder) {
  Job current = read_job(path);
  job = &current;
  Library left(job->left);
  if (!left.error.empty()) return "missing " + left.error;
  std::vector<void *> slots = addresses();
  for (unsigned run = 0; run < job->grids.size(); run++) {
    prepare(run);
    dump(folder, run, "start", snapshot());
    const std::string fault = run_grid(job->grids[run], left.entry, slots.data(), set_positions);
    const Memories after = snapshot();
    dump(folder, run, "left", after);
    dump_around(folder, run, after);
    if (!fault.empty()) std::ofstream(folder + "/" + std::to_string(run) + ".fault") << fault;
  }
  return "done";
}

std::string run_job(const std::string &path, const std::string &folder) {
  Job current = read_job(path);
  job = &current;
  std::string said = answer(folder);
  for (char &c : said)
    if (c == '\n') c = ' ';
  for (Slot &slot : current.slots)
    if (slot.kind == Slot::buffer) release(slot.memory);
  return said;
}
}  // namespace

int main(int count, char **arguments) {
  if (count == 4 && std::string(arguments[1]) == "--dump") {
    std::cout << run_job(arguments[2], arguments[3]) << std::endl;
    return 0;
  }
  if (count == 4 && std::string(arguments[1]) == "--left") {
    std::cout << run_left(arguments[2], arguments[3]) << std::endl;
    return 0;
  }
  if (count != 3) {
    std::cerr << "run JOBS FIRST, run --dump JOB FOLDER, or run --left JOB FOLDER\n";
    return 2;
  }
  std::ifstream list(arguments[1]);
  const int first = std::stoi(arguments[2]);
  std::string line;
  for (int number = 0; std::getline(list, line); number++) {
    if (number < first) continue;
    std::cout << number << " " << std::flush;
    std::cout << run_job(line.substr(0, line.find('\t')), "") << std::endl;
  }
  std::cout << "end" << std::endl;
}
