// SPDX-License-Identifier: BSD-3-Clause
// What the cases of several functions need on the stage.

#ifndef RPMA_TESTS_ERRORS_SCENES_H_
#define RPMA_TESTS_ERRORS_SCENES_H_

#include "tests/errors/stage.h"

namespace rpma::test {

inline constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;

// Configurations that differ from the defaults: with a receive CQ; with a
// shared completion channel; with both; and with a shared completion channel
// and a shared receive queue that has a receive CQ, which exclude each other.
const rpma_conn_cfg* WithRcq(Stage& stage);
const rpma_conn_cfg* WithSharedChannel(Stage& stage);
const rpma_conn_cfg* WithSharedChannelAndRcq(Stage& stage);
const rpma_conn_cfg* WithExclusiveChoices(Stage& stage);

// Calls that wait on the descriptor do not block.
void MakeNonBlocking(int fd);

// A connection in which the client's CQ has a completion and its event.
const End& ClientWithCompletion(Stage& stage, const rpma_conn_cfg* cfg);

// The client that connected last was refused.
void ExpectRefused(Stage& stage);

}  // namespace rpma::test

#endif  // RPMA_TESTS_ERRORS_SCENES_H_
