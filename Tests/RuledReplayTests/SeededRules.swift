import RuledCore
import RuledEngine
import RuledLua
import TestSupport

extension SeededTraffic {
  /// The rules as a folder's content.
  static func source(factor: Int = 1) -> RulesSource {
    RulesSource(plugins: rules(factor: factor).map { plugin($0.key, $0.value) })
  }

  /// A plugin of one file.
  static func plugin(_ name: String, _ text: String) -> PluginSource {
    PluginSource(name: name, modules: [SourceFile(path: "\(name)/plugin.lua", text: Array(text.utf8))])
  }
}
