// Solr in this process, as `java -cp 'JARS/*' Solr.java PORT DIRECTORY`, with a core `pages` in the directory: what its
// distribution has beside is not on Maven Central, and no test needs it.

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import javax.servlet.DispatcherType;
import org.apache.solr.servlet.CoreContainerProvider;
import org.apache.solr.servlet.SolrDispatchFilter;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

final class Solr {
    private static final String CONFIG = """
        <config>
          <luceneMatchVersion>9.12.0</luceneMatchVersion>
          <directoryFactory name="DirectoryFactory" class="solr.NRTCachingDirectoryFactory"/>
          <schemaFactory class="ManagedIndexSchemaFactory"><bool name="mutable">true</bool></schemaFactory>
          <updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
          <requestHandler name="/select" class="solr.SearchHandler"/>
        </config>
        """;
    // the types that the fields of the default schema have
    private static final String SCHEMA = """
        <schema name="pages" version="1.6">
          <fieldType name="string" class="solr.StrField" sortMissingLast="true" docValues="true"/>
          <fieldType name="strings" class="solr.StrField" sortMissingLast="true" docValues="true" multiValued="true"/>
          <fieldType name="pdate" class="solr.DatePointField" docValues="true"/>
          <fieldType name="plong" class="solr.LongPointField" docValues="true"/>
          <fieldType name="text_general" class="solr.TextField">
            <analyzer><tokenizer name="standard"/><filter name="lowercase"/></analyzer>
          </fieldType>
          <field name="id" type="string" indexed="true" stored="true" required="true" multiValued="false"/>
          <field name="_version_" type="plong" indexed="false" stored="false"/>
          <uniqueKey>id</uniqueKey>
        </schema>
        """;

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[1]);
        Path core = Files.createDirectories(home.resolve("pages/conf"));
        Files.writeString(home.resolve("solr.xml"), "<solr/>");
        Files.writeString(home.resolve("pages/core.properties"), "name=pages\n");
        Files.writeString(core.resolve("solrconfig.xml"), CONFIG);
        Files.writeString(core.resolve("managed-schema.xml"), SCHEMA);
        System.setProperty("solr.solr.home", home.toString());
        System.setProperty("solr.log.dir", home.toString());
        System.setProperty("solr.install.dir", home.toString());

        Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
        ServletContextHandler context = new ServletContextHandler(server, "/solr");
        context.addEventListener(new CoreContainerProvider());
        context.addFilter(SolrDispatchFilter.class, "/*", EnumSet.of(DispatcherType.REQUEST));
        context.addServlet(new ServletHolder(new javax.servlet.http.HttpServlet() {}), "/*");
        server.start();
        server.join();
    }
}
