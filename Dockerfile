# The web application of fieldmark; see docs/ci.md for how to mount data and open it.
FROM python:3.13-slim AS build

RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY src src
ARG EXTRAS=geometry,llm,locales,pdf,phone,server,tables
RUN python -m venv /opt/fieldmark \
    && /opt/fieldmark/bin/pip install --no-cache-dir --constraint constraints.txt ".[$EXTRAS]" \
    && /opt/fieldmark/bin/python -c "import fieldmark.model.kernel._kernel"

FROM python:3.13-slim

RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin fieldmark
COPY --from=build /opt/fieldmark /opt/fieldmark
ENV PATH=/opt/fieldmark/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
EXPOSE 8321
# A request without the access token is answered with 401 by a server that works.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
    CMD ["python", "-c", "import http.client, sys; server = http.client.HTTPConnection('127.0.0.1', 8321, timeout=4); server.request('GET', '/'); sys.exit(server.getresponse().status != 401)"]
ENTRYPOINT ["fieldmark"]
# Inside the container, every address; publish the port only where it may be reached.
CMD ["serve", "--host", "0.0.0.0", "--accept-remote", "--no-browser"]
