/* The program: everything is in sim/cli/dispatch.c. */
#include "base/memory.h"
#include "cli/dispatch.h"

int main (int argc, char **argv) {
  ls_memory_prepare ();
  return ls_cli_main (argc, argv);
}
