# The image of latchscope: what uv.lock names and nothing else, run by a user without a name, a shell or write access.
FROM python:3.13.16-slim-bookworm AS build
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=/opt/latchscope NO_MKDOCS_2_WARNING=1
RUN ["pip", "install", "--no-cache-dir", "--disable-pip-version-check", "uv==0.13.8"]
WORKDIR /src
# Dependencies first, because they change rarely: with the hashes of the lock file, and the extras that `serve` uses.
COPY pyproject.toml uv.lock ./
RUN ["uv", "sync", "--frozen", "--no-dev", "--extra=postgresql", "--extra=notify", "--extra=mcp", "--no-cache", "--no-install-project"]
COPY README.md LICENSE ./
COPY collectors ./collectors
COPY rules ./rules
COPY service ./service
COPY dashboards/runbooks ./dashboards/runbooks
COPY dashboards/grafana/dashboards ./dashboards/grafana/dashboards
COPY dashboards/grafana/provisioning ./dashboards/grafana/provisioning
COPY dashboards/prometheus ./dashboards/prometheus
COPY dashboards/mixin ./dashboards/mixin
# The documentation, built by tools that stay out of the image; the service serves it under /docs/. All extras, because a page has
# the licence of each package.
COPY CHANGELOG.md CONTRIBUTING.md DECISIONS.md SECURITY.md mkdocs.yml ./
COPY docs ./docs
RUN ["uv", "run", "--frozen", "--isolated", "--no-dev", "--all-extras", "--group=docs", "--no-cache", "mkdocs", "build", "--quiet"]
RUN ["uv", "sync", "--frozen", "--no-dev", "--extra=postgresql", "--extra=notify", "--extra=mcp", "--no-cache", "--no-editable"]
RUN ["install", "--directory", "--owner=10001", "--group=10001", "/var/lib/latchscope", "/generated/latchscope", "/generated/prometheus", "/generated/grafana", "/generated/postgres", "/generated/oracle"]

FROM python:3.13.16-slim-bookworm
LABEL org.opencontainers.image.title="latchscope" \
      org.opencontainers.image.description="Finds out why an Oracle database grinds on its dictionary cache, and what to do." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.2.0"
ENV PATH=/opt/latchscope/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/latchscope /opt/latchscope
# The only folder that the service writes to: a SQLite store.
COPY --from=build --chown=10001:10001 /var/lib/latchscope /var/lib/latchscope
# Where docker-compose.yml mounts the volumes for secrets: a new volume takes its owner from here, so nothing has to be root.
COPY --from=build --chown=10001:10001 /generated /generated
# For Oracle 11.2 only: --build-arg INSTANT_CLIENT=instantclient takes the folder of that name along, see docs/connect.md.
ARG INSTANT_CLIENT=LICENSE
COPY ${INSTANT_CLIENT} /opt/instantclient/
ENV LD_LIBRARY_PATH=/opt/instantclient
WORKDIR /var/lib/latchscope
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=4s --start-period=20s --retries=3 \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
ENTRYPOINT ["latchscope"]
CMD ["serve", "--config", "/etc/latchscope/latchscope.yaml"]
