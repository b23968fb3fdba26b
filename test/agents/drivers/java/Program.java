import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Calls tools with the Java SDK: ADDRESS CALLS. The SDK cannot sign in, so it gets ACCESS_TOKEN. */
public class Program {
  record Call(String tool, Map<String, Object> values, String answers) {}

  static final Pattern APPROVAL = Pattern.compile("http[^\\s\"\\\\]*/approvals\\?client=[\\w%.:/-]+");

  public static void main(String[] words) throws Exception {
    var address = URI.create(words[0]);
    var token = System.getenv("ACCESS_TOKEN");
    var transport =
        HttpClientStreamableHttpTransport.builder(address.resolve("/").toString())
            .endpoint(address.getRawPath() + (address.getRawQuery() == null ? "" : "?" + address.getRawQuery()))
            .httpRequestCustomizer(
                (request, method, uri, body, context) ->
                    request.setHeader("Authorization", "Bearer " + token))
            .build();
    var mapper = McpJsonDefaults.getMapper();
    try (var client = McpClient.sync(transport).build()) {
      client.initialize();
      client.listTools();
      for (var call : mapper.readValue(words[1], Call[].class)) {
        var opened = false;
        while (true) {
          var answer = client.callTool(new CallToolRequest(call.tool(), call.values()));
          var said = mapper.writeValueAsString(answer);
          var link = APPROVAL.matcher(said);
          if (!link.find()) {
            System.out.println(said);
            break;
          }
          if (!opened) new ProcessBuilder(List.of("xdg-open", link.group())).start().waitFor();
          opened = true;
          Thread.sleep(500);
        }
      }
    }
  }
}
