/* A line between two network namespaces: rate, buffer, delay, jitter and loss, in each direction.
 *
 * For machines whose kernel has no netem. A TUN device "line0" in each namespace is one end of the line; this program
 * carries packets from one to the other as a link with a drop-tail buffer does: a packet waits for those before it,
 * takes its bytes by the rate, and arrives after the delay. Jitter keeps the order. Ends with SIGTERM.
 *
 *     cc -O2 -o line line.c
 *     ./line NAMESPACE NAMESPACE MBIT_PER_S BUFFER_MS DELAY_MS JITTER_MS LOSS_PERCENT
 *
 * The delay is that of one direction: a round trip takes twice as long, and jitter twice. At its end it prints what it
 * has carried and dropped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define RING (1u << 17) /* packets on their way in one direction: 200 MB of line */
#define MTU 1600

struct packet {
	uint64_t due;
	uint16_t len;
	uint8_t *bytes;
};

struct direction {
	int from, to;
	struct packet *ring;
	uint32_t head, tail;
	uint64_t link_free, last_due;
	uint64_t packets, bytes, dropped, lost;
};

static volatile sig_atomic_t over;
static uint64_t seed = 88172645463325252ull;

static void end(int signal) { (void)signal; over = 1; }

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The end of the line in a namespace. */
static int open_end(const char *namespace)
{
	char path[256];
	snprintf(path, sizeof path, "/run/netns/%s", namespace);
	int ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		fail(path);
	close(ns);
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fail("/dev/net/tun");
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	strcpy(request.ifr_name, "line0");
	if (ioctl(fd, TUNSETIFF, &request) < 0)
		fail("TUNSETIFF");
	return fd;
}

int main(int count, char **given)
{
	if (count != 8) {
		fprintf(stderr, "usage: line NAMESPACE NAMESPACE MBIT_PER_S BUFFER_MS DELAY_MS JITTER_MS LOSS_PERCENT\n");
		return 2;
	}
	double ns_per_byte = 8000.0 / atof(given[3]), buffer_ns = atof(given[4]) * 1e6;
	double delay_ns = atof(given[5]) * 1e6, jitter_ns = atof(given[6]) * 1e6, loss = atof(given[7]) / 100;
	int ends[2] = {open_end(given[1]), open_end(given[2])};
	struct direction ways[2] = {{.from = ends[0], .to = ends[1]}, {.from = ends[1], .to = ends[0]}};
	for (int w = 0; w < 2; w++)
		if (!(ways[w].ring = calloc(RING, sizeof *ways[w].ring)))
			fail("calloc");
	signal(SIGTERM, end);
	signal(SIGINT, end);
	while (!over) {
		uint64_t now = now_ns(), next = now + 100000000u;
		for (int w = 0; w < 2; w++) {
			struct direction *way = &ways[w];
			for (; way->head != way->tail; way->head++) {
				struct packet *packet = &way->ring[way->head % RING];
				if (packet->due > now) {
					if (packet->due < next)
						next = packet->due;
					break;
				}
				if (write(way->to, packet->bytes, packet->len) < 0)
					way->dropped++;
				free(packet->bytes);
			}
		}
		struct pollfd polled[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLIN}};
		uint64_t wait = next > now ? next - now : 0;
		struct timespec timeout = {.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
		if (ppoll(polled, 2, &timeout, NULL) <= 0)
			continue;
		for (int w = 0; w < 2; w++) {
			struct direction *way = &ways[w];
			for (int burst = 0; burst < 64; burst++) {
				uint8_t bytes[MTU];
				ssize_t len = read(way->from, bytes, sizeof bytes);
				if (len <= 0)
					break;
				now = now_ns();
				if (chance() < loss) {
					way->lost++;
					continue;
				}
				uint64_t begins = way->link_free > now ? way->link_free : now;
				if ((double)(begins - now) > buffer_ns || way->tail - way->head >= RING) {
					way->dropped++;
					continue;
				}
				way->link_free = begins + (uint64_t)((double)len * ns_per_byte);
				uint64_t due = way->link_free + (uint64_t)(delay_ns + jitter_ns * (2 * chance() - 1));
				if (due < way->last_due)
					due = way->last_due;
				way->last_due = due;
				struct packet *packet = &way->ring[way->tail++ % RING];
				packet->due = due;
				packet->len = (uint16_t)len;
				if (!(packet->bytes = malloc((size_t)len)))
					fail("malloc");
				memcpy(packet->bytes, bytes, (size_t)len);
				way->packets++;
				way->bytes += (uint64_t)len;
			}
		}
	}
	for (int w = 0; w < 2; w++)
		printf("%s to %s: %llu packets, %.1f MB, %llu dropped by the buffer, %llu lost\n", given[1 + w], given[2 - w],
		       (unsigned long long)ways[w].packets, (double)ways[w].bytes / 1e6,
		       (unsigned long long)ways[w].dropped, (unsigned long long)ways[w].lost);
	return 0;
}
