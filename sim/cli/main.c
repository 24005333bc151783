/* The program: everything is in sim/cli/cli.c. */
#include "cli/cli.h"

int main (int argc, char **argv) {
  return ls_cli_main (argc, argv);
}
