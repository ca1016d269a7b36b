// A node of OpenSearch in this process, as `java -cp 'JARS/*' OpenSearch.java PORT DIRECTORY`: what its distribution
// has beside is not on Maven Central, and no test needs it.

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

final class OpenSearch extends Node {
    private OpenSearch(Settings settings, Path directory) {
        super(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), directory, () -> "sinks"),
            List.of(Netty4Plugin.class),
            false
        );
    }

    public static void main(String[] arguments) throws Exception {
        Settings.Builder settings = Settings.builder()
            .put("path.home", arguments[1])
            .put("network.host", "127.0.0.1")
            .put("http.port", arguments[0])
            // any port that is free
            .put("transport.port", "0")
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            .put("discovery.type", "single-node")
            .put("cluster.routing.allocation.disk.threshold_enabled", false);
        for (int at = 2; at + 1 < arguments.length; at += 2) {
            settings.put(arguments[at], arguments[at + 1]);
        }
        new OpenSearch(settings.build(), Path.of(arguments[1], "config")).start();
        Thread.currentThread().join();
    }
}
