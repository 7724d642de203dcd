#pragma once
// What the tests of this module share.

#include <string>
#include <vector>

#include "base/files.h"
#include "prediction/kernel_source.h"
#include "prediction/predict.h"
#include "prediction/ptx_program.h"
#include "prediction/sass_program.h"

namespace fathom::test {

inline const MachineModel& h200() {
  return *find_device("H200").value();
}

inline std::string ptx_fixture(const std::string& name) {
  return std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/ptx/" + name;
}

inline Launch launch_of(uint32_t grid, uint32_t block) {
  Launch launch;
  launch.grid[0] = grid;
  launch.block[0] = block;
  return launch;
}

/// A kernel of tests/fixtures/ptx, ready to be walked over.
struct Kernel {
  Kernel(const std::string& file, const std::string& name, const Launch& shape,
         const std::vector<ArgumentValue>& arguments)
      : launch(shape), block({}, 0) {
    SourceOptions options;
    options.arch = "sm_90";
    options.ptxas = "none";
    options.kernel = name;
    Result<KernelSource> opened = open_kernels(ptx_fixture(file), options);
    FATHOM_INVARIANT(opened.ok());
    source = std::move(*opened);
    std::vector<Parameter> parameters = source.parameters(name);
    FATHOM_INVARIANT(apply_arguments(arguments, parameters).ok());
    block = ParameterBlock(parameters, launch.blocks() * launch.threads_per_block());
    launch.buffers = block.buffers();
    launch.contents = block.contents();
    Result<Program> made = source.binary ? make_program(*source.binary, *source.binary->find(name),
                                                        h200(), launch, block)
                                         : make_program(*source.ptx, name, h200(), launch, block);
    FATHOM_INVARIANT(made.ok());
    program = std::move(*made);
  }

  KernelPrediction predict(PredictionModel model = PredictionModel::simulation) const {
    Result<KernelPrediction> made = fathom::predict(program, launch, h200(), model, block);
    FATHOM_INVARIANT(made.ok());
    return *made;
  }

  Launch launch;
  KernelSource source;
  ParameterBlock block;
  Program program;
};

/// The same kernel from PTX and from machine code.
inline std::vector<std::string> both_files() {
  return {"kernels.ptx", "kernels.sm_90.cubin"};
}

}  // namespace fathom::test
