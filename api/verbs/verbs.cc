// SPDX-License-Identifier: BSD-3-Clause
//
// Makes real devices a transport of librpma.

#include "api/process.h"
#include "backends/verbs/verbs_transport.h"

namespace rpma {
namespace {

// Lives until the process ends, so that destructors of static objects may still
// use librpma.
Transport& TheTransport() {
  static auto* const transport = new verbs::VerbsTransport;
  return *transport;
}

const bool registered = (RegisterVerbs(&TheTransport()), true);

}  // namespace
}  // namespace rpma
