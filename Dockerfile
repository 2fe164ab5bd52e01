FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app

COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements.lock

# The release number that /bot status shows is read from pyproject.toml.
COPY pyproject.toml bot.py ./
COPY plugins plugins
COPY qq qq
COPY services services
COPY e5_int8 e5_int8
COPY simulator simulator
COPY prompts prompts

RUN useradd --uid 1000 --create-home qunzhi && install -d -o qunzhi -g qunzhi data
USER qunzhi
VOLUME /app/data

# Not a loopback address: the bot refuses to start unless ONEBOT_ACCESS_TOKEN is set.
ENV HOST=0.0.0.0 PORT=8080 DATA_DIR=/app/data
EXPOSE 8080
CMD ["python", "bot.py"]
