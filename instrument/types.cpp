#include "instrument/types.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Instructions.h>

namespace fathom::instrument {

using namespace llvm;

namespace {

constexpr unsigned kMostFields = 40;

/// "first:0:8, second:8:8"; empty if not all fields can be told.
std::string fields_of(const DICompositeType& type) {
  std::string out;
  unsigned count = 0;
  for (const DINode* node : type.getElements()) {
    const auto* field = dyn_cast_or_null<DIDerivedType>(node);
    if (!field || field->isStaticMember()) continue;
    const bool is_base = field->getTag() == dwarf::DW_TAG_inheritance;
    if (field->getTag() != dwarf::DW_TAG_member && !is_base) continue;
    const StringRef name =
        is_base && field->getBaseType() ? field->getBaseType()->getName() : field->getName();
    const DIType* whole = is_base ? field->getBaseType() : field;
    if (!whole || field->isBitField() || ++count > kMostFields) return "";
    if (name.empty() || name.find_first_of(",:{}") != StringRef::npos) return "";
    out += (out.empty() ? "" : ", ") + name.str() + ":" +
           std::to_string(field->getOffsetInBits() / 8) + ":" +
           std::to_string(whole->getSizeInBits() / 8);
  }
  return out;
}

}  // namespace

void AccessTypes::find_structs() {
  has_structs_ = true;
  DebugInfoFinder finder;
  finder.processModule(module_);
  for (const DIType* type : finder.types()) {
    const auto* composite = dyn_cast<DICompositeType>(type);
    if (!composite || composite->isForwardDecl() || composite->getSizeInBits() == 0 ||
        (composite->getTag() != dwarf::DW_TAG_structure_type &&
         composite->getTag() != dwarf::DW_TAG_class_type))
      continue;
    // C++ names a type by its identifier, C by its name.
    const StringRef key =
        composite->getIdentifier().empty() ? composite->getName() : composite->getIdentifier();
    if (key.empty()) continue;
    const auto [entry, is_new] = structs_.try_emplace(key, composite);
    if (!is_new) entry->second = nullptr;
  }
}

/// Empty if the struct is not known.
std::string AccessTypes::name_of(const Instruction& at) {
  const MDNode* tag = at.getMetadata(LLVMContext::MD_tbaa);
  if (!tag || tag->getNumOperands() < 3) return "";
  const auto* base = dyn_cast<MDNode>(tag->getOperand(0));
  const auto* offset = mdconst::dyn_extract<ConstantInt>(tag->getOperand(2));
  if (!base || !offset || base == tag->getOperand(1) || base->getNumOperands() == 0) return "";
  const auto* name = dyn_cast<MDString>(base->getOperand(0));
  if (!name || name->getString().empty()) return "";
  if (!has_structs_) find_structs();
  const auto found = structs_.find(name->getString());
  if (found == structs_.end() || !found->second) return "";
  const DICompositeType& type = *found->second;
  const std::string fields = fields_of(type);
  if (fields.empty()) return "";
  return "__fathom_numa_type " + std::to_string(offset->getZExtValue()) + " " +
         std::to_string(type.getSizeInBits() / 8) + " " + type.getName().str() + " {" + fields +
         "}";
}

DISubprogram* AccessTypes::function(const std::string& name, DICompileUnit* unit, DIFile* file) {
  DISubprogram*& known =
      functions_[name + "\n" + std::to_string(reinterpret_cast<uintptr_t>(unit)) + "\n" +
                 std::to_string(reinterpret_cast<uintptr_t>(file))];
  if (known) return known;
  DIBuilder builder(module_, false, unit);
  auto* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  known = builder.createFunction(file, name, "", file, 0, type, 0, DINode::FlagArtificial,
                                 DISubprogram::SPFlagDefinition | DISubprogram::SPFlagOptimized);
  builder.finalizeSubprogram(known);
  return known;
}

DebugLoc AccessTypes::location(const Instruction& at) {
  const DebugLoc& place = at.getDebugLoc();
  if (!place) return place;
  const DISubprogram* inside = place->getScope()->getSubprogram();
  if (!inside || !inside->getUnit() || !place->getFile()) return place;
  const std::string name = name_of(at);
  if (name.empty()) return place;
  DISubprogram* scope = function(name, inside->getUnit(), place->getFile());
  return DILocation::get(module_.getContext(), place.getLine(), place.getCol(), scope, place.get());
}

}  // namespace fathom::instrument
