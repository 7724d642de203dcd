// The native decoder as a source of instructions: functions, and what of them the rest of the file
// tells: names of what is called, targets of indirect branches.

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/text.h"
#include "binary/decoder.h"
#include "binary/elf.h"
#include "binary/native_decoder.h"

namespace fathom {
namespace {

constexpr uint8_t kInfoBranchTargets = 0x34;  // .nv.info attribute

/// What a binary says about its code besides the code. Read when first asked for, by any thread.
class CodeFacts {
 public:
  explicit CodeFacts(const GpuBinary& binary) : binary_(binary) {}

  /// The symbol that the linker puts into an instruction, or null.
  const ElfSymbol* relocated(uint32_t section, uint64_t offset) {
    std::lock_guard lock(guard_);
    open();
    if (!elf_) return nullptr;
    auto [found, first] = relocations_.try_emplace(section);
    if (first) {
      Result<std::vector<ElfRelocation>> read = elf_->relocations(section);
      if (read) found->second = std::move(*read);
    }
    auto at = std::lower_bound(found->second.begin(), found->second.end(), offset,
                               [](const ElfRelocation& relocation, uint64_t wanted) {
                                 return relocation.offset < wanted;
                               });
    // The relocated bits may start anywhere in the instruction.
    if (at == found->second.end() || at->offset >= offset + kInstructionSize) return nullptr;
    return at->symbol < symbols_.size() ? &symbols_[at->symbol] : nullptr;
  }

  /// Section offsets that an indirect branch may go to, as the compiler wrote them down.
  std::vector<uint64_t> branch_targets(uint32_t section, uint64_t offset) {
    std::lock_guard lock(guard_);
    open();
    std::vector<uint64_t> targets;
    if (!elf_) return targets;
    std::string_view name = elf_->section_name(section);
    if (!starts_with(name, ".text.")) return targets;
    auto found = sections_.find(".nv.info." + std::string(name.substr(6)));
    if (found == sections_.end()) return targets;
    Result<ElfSection> info = elf_->section(found->second);
    if (!info) return targets;
    ByteReader reader(info->data);
    while (reader.remaining() >= 4) {
      const uint8_t form = reader.u8(), attribute = reader.u8();
      const uint16_t value = reader.u16();
      Bytes payload = form == 4 ? reader.take(value) : Bytes();
      if (attribute == kInfoBranchTargets) add_targets(payload, offset, targets);
    }
    return targets;
  }

 private:
  /// Records of an instruction's offset, 4 bytes that are zeros, a count, and the targets.
  static void add_targets(Bytes payload, uint64_t offset, std::vector<uint64_t>& targets) {
    ByteReader reader(payload);
    while (reader.remaining() >= 12) {
      const uint32_t branch = reader.u32();
      reader.u32();
      const uint32_t count = reader.u32();
      if (count > reader.remaining() / 4) return;
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t target = reader.u32();
        if (branch == offset) targets.push_back(target);
      }
    }
  }

  void open() {
    if (opened_) return;
    opened_ = true;
    Result<ElfFile> elf = ElfFile::open(*binary_.bytes, binary_.name);
    if (!elf) return;
    elf_ = std::move(*elf);
    if (Result<std::vector<ElfSymbol>> symbols = elf_->symbols()) symbols_ = std::move(*symbols);
    for (uint32_t i = 0; i < elf_->section_count(); ++i)
      sections_.emplace(elf_->section_name(i), i);
  }

  const GpuBinary binary_;  // keeps the bytes alive
  std::mutex guard_;
  bool opened_ = false;
  std::optional<ElfFile> elf_;
  std::vector<ElfSymbol> symbols_;
  std::unordered_map<std::string, uint32_t> sections_;
  std::unordered_map<uint32_t, std::vector<ElfRelocation>> relocations_;
};

/// One function while its words become instructions.
class FunctionDecoder {
 public:
  FunctionDecoder(const GpuBinary& binary, const GpuSymbol& function, NativeDecoder& decoder,
                  CodeFacts& facts, bool with_text)
      : binary_(binary),
        function_(function),
        decoder_(decoder),
        facts_(facts),
        with_text_(with_text) {}

  std::vector<Instruction> read() {
    Bytes code = binary_.code(function_);
    const size_t count = code.size() / kInstructionSize;
    std::vector<Instruction> instructions(count);
    ByteReader reader(code);
    for (size_t i = 0; i < count; ++i) {
      SassWord word;
      word.low = reader.u64();
      word.high = reader.u64();
      read_one(word, i * kInstructionSize, instructions[i]);
    }
    drop_padding(instructions);
    return instructions;
  }

 private:
  void read_one(const SassWord& word, uint64_t offset, Instruction& out) {
    const SassShape& shape = decoder_.shape(word);
    out.offset = offset;
    label_.clear();
    const bool direct = shape.flow == Flow::branch || shape.flow == Flow::call;
    if (shape.known && (shape.target >= 0 || direct)) find_target(shape, word, direct, out);
    decoder_.fill(shape, word, out);
    if (with_text_) out.text = decoder_.text(shape, word, label_);
    if (out.flow == Flow::indirect_branch) find_table(out);
  }

  /// Where a branch goes: the distance in the instruction, or what the linker will put there.
  void find_target(const SassShape& shape, const SassWord& word, bool direct, Instruction& out) {
    const uint64_t here = function_.offset + out.offset;
    const ElfSymbol* symbol =
        shape.flow == Flow::call ? facts_.relocated(function_.section, here) : nullptr;
    uint64_t there = 0;
    if (symbol) {
      there = symbol->section == function_.section ? symbol->value : UINT64_MAX;
    } else if (shape.target >= 0) {
      there = here + kInstructionSize +
              static_cast<uint64_t>(shape.entry->literals[shape.target].value(word));
    } else {
      there = UINT64_MAX;
    }
    const bool inside = there != UINT64_MAX && there >= function_.offset;
    const GpuSymbol* start = symbol || shape.flow == Flow::branch ? nullptr : starting_at(there);
    if (with_text_) label_ = label(there, symbol ? symbol->name : start ? start->name : "");
    if (inside && shape.converges) out.convergence = there - function_.offset;
    if (!direct) return;
    if (inside) out.target = there - function_.offset;
    if (shape.flow != Flow::call) return;
    if (symbol)
      out.target_symbol = symbol->name;
    else if (start)
      out.target_symbol = start->name;
  }

  /// A name, or else the distance from the function's start.
  std::string label(uint64_t there, std::string_view name) const {
    if (!name.empty()) return "`(" + std::string(name) + ")";
    const bool before = there < function_.offset;
    const uint64_t distance = before ? function_.offset - there : there - function_.offset;
    return format("%s0x%llx", before ? "-" : "", static_cast<unsigned long long>(distance));
  }

  const GpuSymbol* starting_at(uint64_t offset) const {
    const GpuSymbol* called = binary_.find(function_.section, offset);
    return called && called->offset == offset ? called : nullptr;
  }

  void find_table(Instruction& out) {
    for (uint64_t target : facts_.branch_targets(function_.section, function_.offset + out.offset))
      if (target >= function_.offset) out.table.push_back(target - function_.offset);
    std::sort(out.table.begin(), out.table.end());
    out.table.erase(std::unique(out.table.begin(), out.table.end()), out.table.end());
  }

  const GpuBinary& binary_;
  const GpuSymbol& function_;
  NativeDecoder& decoder_;
  CodeFacts& facts_;
  const bool with_text_;
  std::string label_;
};

class NativeSource : public InstructionSource {
 public:
  explicit NativeSource(bool with_text) : with_text_(with_text) {}
  Result<std::vector<Instruction>> decode(const GpuBinary& binary,
                                          const GpuSymbol& function) override {
    const SassTable* table = native_table(binary.compute);
    if (!table)
      return Error{ErrorKind::cannot_answer, "no table of encodings for " + binary.arch,
                   binary.name, "--decoder nvdisasm may know it"};
    return FunctionDecoder(binary, function, decoder_for(*table), facts_of(binary), with_text_)
        .read();
  }
  std::string description() const override { return "Fathom's own decoder"; }

 private:
  /// Sources come and go with binaries; the shapes of instructions that a thread has met stay.
  static NativeDecoder& decoder_for(const SassTable& table) {
    thread_local std::map<unsigned, std::unique_ptr<NativeDecoder>> decoders;
    std::unique_ptr<NativeDecoder>& decoder = decoders[table.compute];
    if (!decoder) decoder = std::make_unique<NativeDecoder>(table);
    return *decoder;
  }

  CodeFacts& facts_of(const GpuBinary& binary) {
    std::lock_guard lock(guard_);
    std::unique_ptr<CodeFacts>& facts = facts_[binary.bytes];
    if (!facts) facts = std::make_unique<CodeFacts>(binary);
    return *facts;
  }

  const bool with_text_;
  std::mutex guard_;
  std::map<std::shared_ptr<const std::vector<uint8_t>>, std::unique_ptr<CodeFacts>> facts_;
};

}  // namespace

std::unique_ptr<InstructionSource> native_decoder(InstructionText text) {
  return std::make_unique<NativeSource>(text == InstructionText::written);
}

bool decodes_natively(unsigned compute) {
  return native_table(compute) != nullptr;
}

}  // namespace fathom
