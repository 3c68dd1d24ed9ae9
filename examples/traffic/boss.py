"""The boss, the app of the plugin attribution: installs from ads, consent to tracking, daily launches."""

from urllib.parse import urlencode

PAGE = "https://discovery.ozma.io/go-app/the-boss"
SOURCES = [("facebook", 45), ("instagram", 10), ("google", 15), ("newsletter", 10), (None, 20)]


def play(person):
    """All days of one device."""
    rng = person.rng
    platform = rng.choice(["ios", "ios", "android"])
    user = person.subject_name if rng.random() < 0.75 else None
    status = "not-determined" if platform == "ios" else None
    signed_in = False
    for day in person.active_days():
        person.session(day)
        first = day == person.first_day
        launch(person, platform, status, signed_in, user, link(person) if first else None)
        if status == "not-determined" and rng.random() < 0.8:
            person.wait(5, 30)
            status = rng.choice(["authorized", "denied", "denied"])
            send(person, platform, "att.answered", {"status": status, "authenticated": signed_in})
        if user and not signed_in and rng.random() < 0.7:
            person.wait(20, 90)
            address = user if rng.random() < 0.1 else f"{user}@example.com"
            send(person, platform, "email.submitted", {"email": address})
            person.wait(30, 120)
            send(person, platform, "user.authenticated", {"user": user})
            signed_in = True
        person.wait(300, 9000)
        send(person, platform, "app.foregrounded", known(signed_in, user, status))


def link(person):
    """The link that led to the install; none for one in five."""
    rng = person.rng
    source = rng.choices([name for name, _ in SOURCES], [share for _, share in SOURCES])[0]
    if source is None:
        return None
    query = {"utm_source": source, "utm_medium": "cpc", "utm_campaign": rng.choice(["install", "autumn"])}
    if source == "facebook":
        query["fbclid"] = f"IwAR{rng.randrange(10**9)}"
    if rng.random() < 0.3:
        query["email"] = f"{person.subject_name}@example.com"
    return f"{PAGE}?{urlencode(query)}"


def launch(person, platform, status, signed_in, user, url):
    """A launch of the app."""
    data = {"platform": platform, **known(signed_in, user, status)}
    if url:
        data["url"] = url
        data["device"] = {"model": "iPhone16,1" if platform == "ios" else "Pixel 9", "os_version": "18.1"}
    send(person, platform, "app.launched", data)


def known(signed_in, user, status):
    """What the app knows of its user."""
    data = {"authenticated": signed_in}
    if signed_in:
        data["user"] = user
    if status:
        data["att_status"] = status
    return data


def send(person, platform, type, data):
    """An event of the device's."""
    person.wait(0.5, 5)
    person.send(type, data, f"device:{person.subject_name}", f"the-boss/{platform}")
