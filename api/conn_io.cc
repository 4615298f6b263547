// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of a connection: rpma_read(), rpma_write(), rpma_send() and so
// on.

#include <librpma.h>

#include "api/boundary.h"
#include "api/opaque.h"
#include "core/connection.h"

namespace {

// Both regions, or none and no data.
bool AreRegions(const rpma_mr_local* local, size_t local_offset,
                const rpma_mr_remote* remote, size_t remote_offset,
                size_t len) {
  if (local != nullptr && remote != nullptr) return true;
  return local == nullptr && remote == nullptr && local_offset == 0 &&
         remote_offset == 0 && len == 0;
}

bool IsRegion(const rpma_mr_local* mr, size_t offset, size_t len) {
  return mr != nullptr || (offset == 0 && len == 0);
}

bool IsFlushType(int type) {
  return type == RPMA_FLUSH_TYPE_PERSISTENT ||
         type == RPMA_FLUSH_TYPE_VISIBILITY;
}

}  // namespace

int rpma_read(struct rpma_conn* conn, struct rpma_mr_local* dst,
              size_t dst_offset, const struct rpma_mr_remote* src,
              size_t src_offset, size_t len, int flags,
              const void* op_context) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(flags != 0);
  RPMA_REQUIRE(AreRegions(dst, dst_offset, src, src_offset, len));
  return rpma::ToC(rpma::FromC(conn)->Read(rpma::FromC(dst), dst_offset,
                                           rpma::FromC(src), src_offset, len,
                                           flags, op_context));
}

int rpma_write(struct rpma_conn* conn, struct rpma_mr_remote* dst,
               size_t dst_offset, const struct rpma_mr_local* src,
               size_t src_offset, size_t len, int flags,
               const void* op_context) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(flags != 0);
  RPMA_REQUIRE(AreRegions(src, src_offset, dst, dst_offset, len));
  return rpma::ToC(rpma::FromC(conn)->Write(rpma::FromC(dst), dst_offset,
                                            rpma::FromC(src), src_offset, len,
                                            flags, op_context));
}

int rpma_write_with_imm(struct rpma_conn* conn, struct rpma_mr_remote* dst,
                        size_t dst_offset, const struct rpma_mr_local* src,
                        size_t src_offset, size_t len, int flags, uint32_t imm,
                        const void* op_context) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(flags != 0);
  RPMA_REQUIRE(AreRegions(src, src_offset, dst, dst_offset, len));
  return rpma::ToC(rpma::FromC(conn)->WriteWithImm(
      rpma::FromC(dst), dst_offset, rpma::FromC(src), src_offset, len, flags,
      imm, op_context));
}

int rpma_atomic_write(struct rpma_conn* conn, struct rpma_mr_remote* dst,
                      size_t dst_offset, const char src[8], int flags,
                      const void* op_context) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(dst != nullptr);
  RPMA_REQUIRE(src != nullptr);
  RPMA_REQUIRE(flags != 0);
  return rpma::ToC(rpma::FromC(conn)->AtomicWrite(*rpma::FromC(dst), dst_offset,
                                                  src, flags, op_context));
}

int rpma_flush(struct rpma_conn* conn, struct rpma_mr_remote* dst,
               size_t dst_offset, size_t len, enum rpma_flush_type type,
               int flags, const void* op_context) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(dst != nullptr);
  RPMA_REQUIRE(IsFlushType(rpma::NumberOf(type)));
  RPMA_REQUIRE(flags != 0);
  return rpma::ToC(rpma::FromC(conn)->Flush(*rpma::FromC(dst), dst_offset, len,
                                            type, flags, op_context));
}

int rpma_send(struct rpma_conn* conn, const struct rpma_mr_local* src,
              size_t offset, size_t len, int flags, const void* op_context) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(flags != 0);
  RPMA_REQUIRE(IsRegion(src, offset, len));
  return rpma::ToC(rpma::FromC(conn)->Send(rpma::FromC(src), offset, len, flags,
                                           op_context));
}

int rpma_send_with_imm(struct rpma_conn* conn, const struct rpma_mr_local* src,
                       size_t offset, size_t len, int flags, uint32_t imm,
                       const void* op_context) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(flags != 0);
  RPMA_REQUIRE(IsRegion(src, offset, len));
  return rpma::ToC(rpma::FromC(conn)->SendWithImm(rpma::FromC(src), offset, len,
                                                  flags, imm, op_context));
}

int rpma_recv(struct rpma_conn* conn, struct rpma_mr_local* dst, size_t offset,
              size_t len, const void* op_context) {
  RPMA_REQUIRE(conn != nullptr);
  RPMA_REQUIRE(IsRegion(dst, offset, len));
  return rpma::ToC(
      rpma::FromC(conn)->Recv(rpma::FromC(dst), offset, len, op_context));
}
