# SPDX-License-Identifier: Apache-2.0
#
# Untested: written without a container engine at hand. docs/installation.md has the full command line.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" -t fabricd .
#
# The image runs as an ordinary user (65532) and without any capability. That is enough for most checks; those that
# need more say 'unknown' and name what they lack. These can be added, each for itself:
#
#   CAP_NET_RAW      receive LLDP frames (AF_PACKET)
#   CAP_SYS_ADMIN    PCI config space beyond its first 64 bytes
#   CAP_BPF          load the queue sampler
#   CAP_PERFMON      let it read kernel memory
#   CAP_SYS_PTRACE   numa_maps of other users' processes
#
# Podman hands --cap-add to an ordinary user, as ambient capabilities. Docker does not: there, run as user 0 with
# everything else dropped:
#
#   docker run --user 0:0 --cap-drop ALL --cap-add SYS_ADMIN --cap-add NET_RAW … fabricd
#
# The host's root is expected read-only under /host (-v /:/host:ro,rslave), and the host's network (--network host),
# since ports and RDMA devices belong to a network namespace.

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
ARG TARGETOS=linux
ARG TARGETARCH=amd64
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /fabricd ./cmd/fabricd

FROM gcr.io/distroless/static-debian12:nonroot
ARG VERSION=unknown
LABEL org.opencontainers.image.title="fabricd" \
      org.opencontainers.image.description="Watches the PCIe links, NUMA placement and fabric ports of a GPU node" \
      org.opencontainers.image.source="https://github.com/fabricd/fabricd" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /fabricd /usr/bin/fabricd
COPY LICENSE /usr/share/doc/fabricd/LICENSE
USER 65532:65532
EXPOSE 9794
ENTRYPOINT ["/usr/bin/fabricd"]
CMD ["run", "--path.rootfs=/host"]
