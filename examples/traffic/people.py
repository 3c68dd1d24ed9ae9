"""The people behind the traffic: how often they come, when in their day, and where they live."""

import random
from datetime import datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

# Time zones by how many people live there. Some change their clocks in autumn, one is half an hour off.
ZONES = [
    ("Europe/Berlin", 30), ("Europe/Paris", 15), ("America/New_York", 20), ("America/Los_Angeles", 12),
    ("Asia/Tokyo", 8), ("Asia/Kolkata", 8), ("Australia/Sydney", 5), ("Pacific/Auckland", 2),
]

# How people come back: the chance on their first day, what it is multiplied by each day, and the chance of a weekend
# relative to a weekday.
HABITS = {
    "loyal": (0.97, 0.999, 1.0),
    "regular": (0.65, 0.995, 1.2),
    "weekend": (0.25, 0.998, 3.0),
    "fading": (0.90, 0.88, 1.0),
    "once": (0.30, 0.30, 1.0),
}
SHARES = [("loyal", 15), ("regular", 35), ("weekend", 15), ("fading", 20), ("once", 15)]


def choose(rng, weighted):
    """One of (value, weight) pairs."""
    values, weights = zip(*weighted)
    return rng.choices(values, weights)[0]


class Person:
    """One person of one product. All chances come from `rng`, which depends on the seed, product and number alone."""

    def __init__(self, seed, product, number, first_day, days):
        self.rng = random.Random(f"{seed}/{product}/{number}")
        self.subject_name = f"{product}-{number:04d}"
        self.zone = choose(self.rng, ZONES)
        self.habit = choose(self.rng, SHARES)
        # Two thirds were there on the first day; the others join in the weeks that follow.
        joined = 0 if self.rng.random() < 0.67 else self.rng.randrange(days)
        self.first_day = first_day + timedelta(days=joined)
        self.last_day = first_day + timedelta(days=days)
        self.hour = self.rng.triangular(6, 23, 19)
        self.moves_on = None
        if self.rng.random() < 0.08:
            self.moves_on = self.first_day + timedelta(days=self.rng.randrange(1, 14))
        self.events = []

    def active_days(self):
        """The days on which the person comes, the first one always."""
        chance, decay, weekend = HABITS[self.habit]
        day = self.first_day
        while day < self.last_day:
            today = chance * (weekend if day.weekday() >= 5 else 1)
            if day == self.first_day or self.rng.random() < today:
                yield day
            chance *= decay
            day += timedelta(days=1)

    def travels(self, day):
        """Whether the person has moved to another time zone by this day; true once."""
        if self.moves_on is None or day < self.moves_on:
            return False
        self.moves_on = None
        self.zone = choose(self.rng, [zone for zone in ZONES if zone[0] != self.zone])
        return True

    def session(self, day):
        """A moment of the person's day, at about the hour at which they usually come."""
        hour = min(23.9, max(0.1, self.rng.gauss(self.hour, 2)))
        local = datetime.combine(day, time(), ZoneInfo(self.zone)) + timedelta(hours=hour)
        self.now = local.astimezone(timezone.utc)

    def wait(self, least, most):
        """Lets between `least` and `most` seconds pass."""
        self.now += timedelta(seconds=self.rng.uniform(least, most))

    def send(self, type, data, subject, source):
        """Sends an event now. One in a hundred is sent again, as a client does that got no answer."""
        text = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        event = {
            "type": type, "subject": subject, "id": f"{self.subject_name}-{len(self.events) + 1}", "source": source,
            "time": text, "data": data,
        }
        self.events.append(event)
        if self.rng.random() < 0.01:
            self.events.append(event)
