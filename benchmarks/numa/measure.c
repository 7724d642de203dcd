// measure FILE COMMAND...: runs the command, its output dropped, and appends its seconds of processor
// time and its peak of memory in kilobytes to FILE. Small itself: a program's peak includes that of
// the process that started it.
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    execvp(arguments[2], arguments + 2);
    _exit(127);
  }
  int status = 0;
  struct rusage use;
  if (wait4(child, &status, 0, &use) != child || status != 0) return 1;
  FILE* out = fopen(arguments[1], "a");
  if (!out) return 1;
  fprintf(out, "%.6f %ld\n",
          (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
              1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec),
          use.ru_maxrss);
  return fclose(out) != 0;
}
