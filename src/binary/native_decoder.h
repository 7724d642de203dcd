#pragma once
// From words to instructions by the table of encodings. Instructions of one shape (same opcode,
// modifiers, kinds of operands) share everything but the numbers of their registers and literals,
// so the table and the text's semantics are asked once for each shape.

#include <memory>
#include <string>
#include <vector>

#include "binary/sass_semantics.h"
#include "binary/sass_table.h"

namespace fathom {

struct SassShape {
  /// Registers that an operand names; the first one's number stands in the word.
  struct Registers {
    RegisterFile file = RegisterFile::general;
    SassField field;  ///< width 0: always the register `field.start`
    uint16_t count = 1;
    bool defined = false;
  };
  /// Text, and what comes behind it.
  struct Part {
    enum class Kind : uint8_t { none, register_, literal, target };
    std::string before;
    Kind kind = Kind::none;
    RegisterFile file = RegisterFile::general;
    SassField field;
    uint8_t reuse = 0;  ///< bits of the control field that say that it is kept
    uint8_t literal = 0;
  };

  bool known = false;
  bool converges = false;  ///< BSSY
  bool bfloat16 = false;   ///< what literals of 16 bits are
  std::string opcode;
  OpClass op_class = OpClass::other;
  MemorySpace space = MemorySpace::none;
  uint8_t access_bytes = 0;
  Flow flow = Flow::next;
  const SassEntry* entry = nullptr;
  std::vector<Registers> registers;
  std::vector<Part> operands;
  size_t defined = 0, used = 0;  ///< registers, at most
  size_t text_size = 8;          ///< of the operands, about
  int target = -1;  ///< the literal that is a distance from the next instruction, or -1
};

class NativeDecoder {
 public:
  explicit NativeDecoder(const SassTable& table);
  ~NativeDecoder();

  /// Valid until the next call. `known` is false where the table has no such instruction.
  const SassShape& shape(const SassWord& word);
  /// Everything but text, offset, target, symbols and tables.
  void fill(const SassShape& shape, const SassWord& word, Instruction& out) const;
  /// Instruction::text; `target_text` stands for a label.
  std::string text(const SassShape& shape, const SassWord& word,
                   const std::string& target_text) const;
  size_t shapes_seen() const;

 private:
  class Shapes;
  const SassTable& table_;
  std::unique_ptr<Shapes> shapes_;
};

}  // namespace fathom
