/* From a command line to an exit status: finding the command, parsing its line, running it, and showing what went
 * wrong. What a command sees of all that is in cli.h. */
#pragma once

/* Runs the program; returns the exit status. argv as main() gets it. */
int ls_cli_main (int argc, char **argv);
