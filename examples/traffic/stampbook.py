"""Stampbook, the app of the plugin onboarding: stamps that are claimed in places, and people who follow each other."""

# Some stamps of rules/onboarding/stamps.json, by area.
STAMPS = {
    "paris": [("eiffel-tower", 48.85837, 2.29448), ("louvre", 48.86061, 2.33764), ("notre-dame", 48.85297, 2.3499)],
    "berlin": [("brandenburg-gate", 52.51628, 13.3777), ("fernsehturm", 52.52082, 13.40942)],
    "tokyo": [("tokyo-tower", 35.65858, 139.74543), ("senso-ji", 35.71477, 139.79666)],
    "sydney": [("sydney-opera-house", -33.85678, 151.2153)],
}
DEEDS = [("user.followed", "target"), ("post.liked", "owner"), ("post.liked", "owner"), ("post.commented", "owner")]


def play(person, everybody):
    """All days of one user; `everybody` are the names of those who may be followed."""
    rng = person.rng
    home = rng.choice(sorted(STAMPS))
    for day in person.active_days():
        person.session(day)
        send(person, "user.signed_in", {})
        send(person, "bell.opened", {})
        if day == person.first_day and rng.random() < 0.85:
            send(person, "stamp.claim", {"stamp": "welcome"})
        if rng.random() < 0.5:
            walk(person, home if rng.random() < 0.8 else rng.choice(sorted(STAMPS)))
        for _ in range(rng.choice([0, 0, 1, 2])):
            type, whom = rng.choice(DEEDS)
            data = {whom: rng.choice(everybody)}
            if type != "user.followed":
                data["post"] = f"post-{rng.randrange(50)}"
            send(person, type, data)
        if rng.random() < 0.3:
            send(person, "notifications.read_all", {})


def walk(person, area):
    """A walk through an area: one stamp or two, claimed where they are, or sometimes from too far away."""
    rng = person.rng
    send(person, "area.entered", {"area": area})
    for stamp, lat, lon in rng.sample(STAMPS[area], rng.randrange(1, min(3, len(STAMPS[area]) + 1))):
        person.wait(300, 3600)
        off = rng.choice([0.0002, 0.0004, 0.0006, 0.05])
        send(person, "stamp.claim", {"stamp": stamp, "lat": round(lat + off, 5), "lon": lon})
    send(person, "area.left", {"area": area})


def send(person, type, data):
    """An event of the user's."""
    person.wait(1, 20)
    person.send(type, data, f"user:{person.subject_name}", "stampbook/ios")
