#include "calibration/kernel.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/text.h"
#include "binary/decoder.h"

namespace fathom {
namespace {

bool matches(const Instruction& instruction, const std::vector<std::string>& opcodes) {
  return std::any_of(opcodes.begin(), opcodes.end(), [&](const std::string& wanted) {
    return wanted.find('.') == std::string::npos ? instruction.base_opcode() == wanted
                                                 : starts_with(instruction.opcode, wanted);
  });
}

int count_between(const std::vector<Instruction>& code, uint64_t first, uint64_t last,
                  const std::vector<std::string>& opcodes) {
  return static_cast<int>(std::count_if(code.begin(), code.end(), [&](const Instruction& i) {
    return i.offset >= first && i.offset <= last && matches(i, opcodes);
  }));
}

std::string opcodes_between(const std::vector<Instruction>& code, uint64_t first, uint64_t last) {
  std::map<std::string, int> counts;
  for (const Instruction& i : code)
    if (i.offset >= first && i.offset <= last) ++counts[i.opcode];
  std::vector<std::string> parts;
  for (const auto& [opcode, count] : counts)
    parts.push_back(format("%d %s", count, opcode.c_str()));
  return join(parts, ", ");
}

}  // namespace

int count_in_loop(const std::vector<Instruction>& code, const std::vector<std::string>& opcodes,
                  std::string* text) {
  int most = 0;
  for (const Instruction& branch : code) {
    // A branch to itself pads the end of a function.
    if (branch.flow != Flow::branch || !branch.target || *branch.target >= branch.offset) continue;
    int count = count_between(code, *branch.target, branch.offset, opcodes);
    if (count <= most) continue;
    most = count;
    if (text) *text = opcodes_between(code, *branch.target, branch.offset);
  }
  return most;
}

Result<int> check_code(const Microbenchmark& benchmark, std::vector<uint8_t> cubin,
                       std::string* text) {
  auto bytes = std::make_shared<const std::vector<uint8_t>>(std::move(cubin));
  Result<GpuBinary> binary = open_gpu_binary(bytes, benchmark.name);
  if (!binary) return binary.error();
  const GpuSymbol* kernel = binary->find("bench");
  if (!kernel)
    return Error{ErrorKind::cannot_answer, "the compiled code has no `bench`", benchmark.name, ""};
  Result<std::vector<Instruction>> code =
      native_decoder(InstructionText::left_out)->decode(binary.value(), *kernel);
  if (!code) return code.error();
  std::string found;
  int count = count_in_loop(code.value(), benchmark.opcodes, &found);
  if (text) *text = found;
  if (count > 0 && (benchmark.expected == 0 || count == benchmark.expected)) return count;
  return Error{ErrorKind::cannot_answer,
               format("the compiler changed what is measured: %d of %d %s in the loop (%s)", count,
                      benchmark.expected, join(benchmark.opcodes, "/").c_str(), found.c_str()),
               benchmark.name, ""};
}

Result<LoadedBenchmark> load_benchmark(CudaDriver& driver, const Microbenchmark& benchmark) {
  Result<std::vector<uint8_t>> cubin = driver.compile(benchmark.ptx);
  if (!cubin) {
    Error error = cubin.error();
    error.where = benchmark.name;
    return error;
  }
  LoadedBenchmark loaded;
  Result<int> count = check_code(benchmark, cubin.value(), &loaded.text);
  if (!count) return count.error();
  loaded.measured = count.value();
  Result<void*> function = driver.load(cubin.value(), "bench");
  if (!function) return function.error();
  loaded.function = function.value();
  return loaded;
}

}  // namespace fathom
