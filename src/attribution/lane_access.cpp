#include "attribution/lane_access.h"

#include <algorithm>
#include <set>

#include "attribution/lane_interpreter.h"
#include "attribution/operand_text.h"

namespace fathom {
namespace {

constexpr uint32_t kSector = 32, kLine = 128, kBanks = 32, kBankBytes = 4;

using Place = std::pair<uint32_t, uint32_t>;  // multiple of the launch's number, address / unit

/// Units of this size that lanes [first, last) touch.
std::set<Place> touched(const LaneValue& address, uint32_t first, uint32_t last, uint32_t bytes,
                        uint32_t unit) {
  std::set<Place> units;
  for (uint32_t l = first; l < last; ++l)
    for (uint32_t u = address.lanes[l] / unit; u <= (address.lanes[l] + bytes - 1) / unit; ++u)
      units.insert({address.multiples[l], u});
  return units;
}

/// The most words that one bank has to deliver.
double passes_of(const LaneValue& address, uint32_t first, uint32_t last, uint32_t bytes) {
  std::array<uint32_t, kBanks> words{};
  for (const Place& word : touched(address, first, last, bytes, kBankBytes))
    ++words[word.second % kBanks];
  return *std::max_element(words.begin(), words.end());
}

LanePattern pattern_of(const LaneValue& address, uint32_t lanes, int64_t& stride) {
  if (address.kind == LaneValue::Kind::data) return LanePattern::data_dependent;
  if (!address.is_known()) return LanePattern::unknown;
  bool constant = true;
  for (uint32_t l = 1; l < lanes; ++l) {
    if (address.multiples[l] != address.multiples[0]) return LanePattern::by_parameter;
    constant =
        constant && address.lanes[l] - address.lanes[l - 1] == address.lanes[1] - address.lanes[0];
  }
  if (!constant) return LanePattern::irregular;
  stride = lanes > 1 ? int32_t(address.lanes[1] - address.lanes[0]) : 0;
  return stride == 0 ? LanePattern::uniform : LanePattern::strided;
}

/// Lanes whose accesses shared memory serves together.
uint32_t lanes_together(uint32_t bytes) {
  return bytes >= 16 ? 8 : bytes >= 8 ? 16 : 32;
}

void count_passes(const LaneValue& address, uint32_t lanes, LaneAccess& access) {
  double passes = 0, ideal = 0;
  const uint32_t together = lanes_together(access.bytes);
  for (uint32_t first = 0; first < lanes; first += together) {
    passes += passes_of(address, first, std::min(lanes, first + together), access.bytes);
    ++ideal;
  }
  access.ideal_passes = ideal;
  if (access.pattern != LanePattern::by_parameter) access.passes = passes;
}

/// LDSM and STSM: each lane names a row of 16 bytes of one of up to four matrices.
uint32_t matrix_lanes(const Instruction& instruction) {
  return has_modifier(instruction.opcode, "4")   ? 32
         : has_modifier(instruction.opcode, "2") ? 16
                                                 : 8;
}

bool is_followed(const Instruction& instruction) {
  switch (instruction.space) {
    case MemorySpace::global:
    case MemorySpace::generic:
    case MemorySpace::shared:
      return instruction.is_memory();
    default:
      return false;
  }
}

bool is_indexed_constant(const Instruction& instruction) {
  if (!instruction.is_load() || instruction.space != MemorySpace::constant) return false;
  for (const Operand& operand : parse_operands(instruction.text))
    if (operand.kind == Operand::Kind::indexed) return true;
  return false;
}

class AccessReader {
 public:
  AccessReader(const AnalyzedFunction& function, const std::array<uint32_t, 3>& block)
      : function_(function), interpreter_(function, block) {
    uint64_t threads = uint64_t(block[0]) * block[1] * block[2];
    if (threads > 0) lanes_ = uint32_t(std::min<uint64_t>(threads, kLanes));
  }

  std::vector<LaneAccess> run(bool (*is_wanted)(const Instruction&)) {
    std::vector<uint32_t> wanted;
    for (uint32_t i = 0; i < function_.instructions.size(); ++i)
      if (is_wanted(function_.instructions[i])) wanted.push_back(i);
    interpreter_.follow(wanted);
    for (uint32_t i : wanted) read(i);
    return std::move(result_);
  }

 private:
  void read(uint32_t i) {
    const Instruction& instruction = function_.instructions[i];
    std::vector<Operand> operands;
    for (Operand& operand : parse_operands(instruction.text))
      if (operand.kind == Operand::Kind::memory || operand.kind == Operand::Kind::indexed)
        operands.push_back(std::move(operand));
    if (operands.empty()) return;
    // A copy from global to shared memory names where it goes first.
    bool copies = instruction.op_class == OpClass::asynchronous_copy;
    if (copies && operands.size() == 2) {
      add(i, operands[0], MemorySpace::shared);
      add(i, operands[1], MemorySpace::global);
    } else if (!copies) {
      add(i, operands[0], instruction.space);
    }
  }

  void add(uint32_t i, const Operand& operand, MemorySpace space) {
    const Instruction& instruction = function_.instructions[i];
    LaneAccess access;
    access.instruction = i;
    access.space = space;
    if (instruction.access_bytes) access.bytes = instruction.access_bytes;
    uint32_t lanes = lanes_;
    std::string_view base = instruction.base_opcode();
    if (base == "LDSM" || base == "STSM") {
      lanes = matrix_lanes(instruction);
      access.bytes = 16;
    }
    LaneValue address = interpreter_.address(i, operand);
    access.pattern = pattern_of(address, lanes, access.stride);
    if (space == MemorySpace::shared) {
      if (access.is_known() && instruction.op_class != OpClass::atomic)
        count_passes(address, lanes, access);
    } else if (space == MemorySpace::constant) {
      access.ideal_passes = 1;
      if (access.is_known())
        access.passes = double(touched(address, 0, lanes, 1, access.bytes).size());
    } else {
      access.ideal_sectors = std::max(1.0, double(lanes) * access.bytes / kSector);
      if (access.is_known()) {
        access.sectors = double(touched(address, 0, lanes, access.bytes, kSector).size());
        access.lines = double(touched(address, 0, lanes, access.bytes, kLine).size());
      }
    }
    result_.push_back(access);
  }

  const AnalyzedFunction& function_;
  LaneInterpreter interpreter_;
  uint32_t lanes_ = kLanes;
  std::vector<LaneAccess> result_;
};

}  // namespace

std::vector<LaneAccess> lane_accesses(const AnalyzedFunction& function,
                                      const std::array<uint32_t, 3>& block) {
  return AccessReader(function, block).run(is_followed);
}

std::vector<LaneAccess> indexed_constants(const AnalyzedFunction& function,
                                          const std::array<uint32_t, 3>& block) {
  return AccessReader(function, block).run(is_indexed_constant);
}

}  // namespace fathom
