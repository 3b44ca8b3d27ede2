# Dyno with what it needs to fetch and build engines.
#   docker build -t dyno . && docker run --rm dyno run sqlite-3.24-to-3.54
#   docker run --rm -v "$PWD/runs:/runs" dyno compare sqlite@3.24.0 sqlite@3.54.1 -w insert
# CPU samples need `--cap-add PERFMON`; governors and the like are the host's.
FROM rust:1-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends cmake gnupg libclang-dev maven npm python3-venv \
    && rm -rf /var/lib/apt/lists/*

COPY . /src
RUN make -C /src wheel \
    && python3 -m venv /opt/dyno \
    && /opt/dyno/bin/pip install --no-cache-dir /src/dist/dyno_bench-*.whl \
    && rm -rf /src "${CARGO_HOME:-$HOME/.cargo}/registry"

ENV PATH=/opt/dyno/bin:$PATH DYNO_RUNS=/runs
WORKDIR /runs
ENTRYPOINT ["dyno"]
CMD ["--help"]
