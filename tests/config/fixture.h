/*
 * A small schema that uses every feature of rows, and scenarios from texts and options.
 */
#pragma once

#include "config/config.h"

/* Rows of an imaginary cluster and workload, beside config's own tables. */
extern const LsConfigKey fixture_keys[];

LsConfigSchema *fixture_schema (void);

/* A scenario and all that must live as long as it. */
typedef struct {
  LsConfigSchema *schema;
  LsConfigErrors *errors;
  LsConfig *config; /* NULL when a text could not be read */
} Fixture;

/* Loads layers up to NULL: texts named "1.yaml", "2.yaml", ...; "--set PATH=VALUE" and "--unset
 * PATH" are options. */
Fixture *fixture_load (const char *first, ...) G_GNUC_NULL_TERMINATED;
void fixture_free (Fixture *fixture);

/* Fails the test unless the faults, written as text, are exactly @expected. */
void fixture_expect (const Fixture *fixture, const char *expected);

/* Fails the test unless the given values, written as YAML, are exactly @expected. */
void fixture_expect_yaml (const Fixture *fixture, const char *expected);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Fixture, fixture_free)

/* A cluster and a workload without faults, for tests of something else. */
#define FIXTURE_CLUSTER "cluster: {nodes: 8, node: dgx}\n"
#define FIXTURE_WORKLOAD "workload: {model: llama}\n"
