#include "app/doctor.h"

#include <cstdio>

#include "app/compile.h"
#include "app/machine_check.h"

namespace fathom {
namespace {

void print(const Check& check) {
  if (check.works) {
    std::printf("  works    %-21s %s\n", check.thing.c_str(), check.found.c_str());
  } else {
    std::printf("  does not %-21s %s: %s; %s\n", check.thing.c_str(), check.found.c_str(),
                check.cost.c_str(), check.remedy.c_str());
  }
}

}  // namespace

int run_doctor() {
  const Check collector = check_cuda_collector(), driver = check_cuda_driver();
  const Check gpus = check_gpus(), cupti = check_cupti();
  const Check numa = check_numa_runtime();
  for (const Check& check :
       {collector, check_exit_collector(), numa, driver, gpus, cupti, check_profiling_permission(),
        check_nvdisasm(), check_cuda_toolkit(), check_clang_pass()})
    print(check);
  const bool cuda = collector.works && driver.works && gpus.works && cupti.works;
  return cuda || numa.works ? 0 : 1;
}

}  // namespace fathom
