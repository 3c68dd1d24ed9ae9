/* The one header through which libsystemd is imported. */
#include <systemd/sd-journal.h>
