// SPDX-License-Identifier: BSD-3-Clause
// SHA-256, so that anyone can check the result with sha256sum(1).

#ifndef RPMA_TOOLS_QUICKSTART_DIGEST_H_
#define RPMA_TOOLS_QUICKSTART_DIGEST_H_

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rpma::quickstart {

using Sha256 = std::array<uint8_t, 32>;

// As sha256sum(1) prints it.
std::string Hex(const Sha256& digest);

class Sha256Stream {
 public:
  Sha256Stream();
  void Update(const void* data, size_t size);
  Sha256 Finish();  // of all the data so far; the last call

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace rpma::quickstart

#endif  // RPMA_TOOLS_QUICKSTART_DIGEST_H_
